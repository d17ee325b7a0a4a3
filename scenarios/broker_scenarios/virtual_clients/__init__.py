"""Third-party clients on virtual time: what each needs beside the event loop and the modules of the runtime."""
