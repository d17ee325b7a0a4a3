"""The programs of drivers. Each runs in a process and an environment of its own, without this project's packages."""
