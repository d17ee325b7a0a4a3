import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;

/** What calls of a client came to, a line each: "NAME: RESULT", or "NAME! EXCEPTION: MESSAGE". */
public class Outcomes {
    public static void say(String name, Callable<?> call) {
        try {
            System.out.println(name + ": " + call.call());
        } catch (ExecutionException error) {
            failed(name, error.getCause());
        } catch (Exception error) {
            failed(name, error);
        }
        System.out.flush();
    }

    static void failed(String name, Throwable error) {
        String message = String.valueOf(error.getMessage()).replace('\n', ' ');
        System.out.println(name + "! " + error.getClass().getSimpleName() + ": " + message);
    }
}
