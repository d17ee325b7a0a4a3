import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * One virtual machine for clients of many releases: each has a class loader of its own.
 * Reads lines "FOLDER-OF-JARS TAB PROGRAM.java TAB ARGUMENTS ...", compiles the program against the jars (once), runs its
 * main, and prints "--- ok" or "---" and what was thrown. Argument: a folder for what it compiles.
 */
public class OldClients {
    static final Map<String, URLClassLoader> LOADERS = new HashMap<>();

    static Path scratch;

    public static void main(String[] arguments) throws Exception {
        scratch = Path.of(arguments[0]);
        for (String line = readLine(); line != null; line = readLine()) {
            String[] words = line.split("\t");
            String outcome = "ok";
            try {
                run(words[0], Path.of(words[1]), Arrays.copyOfRange(words, 2, words.length));
            } catch (Exception error) {
                Throwable thrown = error instanceof InvocationTargetException ? error.getCause() : error;
                thrown.printStackTrace();
                outcome = String.valueOf(thrown).replace('\n', ' ');
            }
            System.out.println("--- " + outcome);
            System.out.flush();
        }
    }

    /** A line and not a byte more: what follows may be for the program. */
    static String readLine() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        int next = System.in.read();
        while (next >= 0 && next != '\n') {
            line.write(next);
            next = System.in.read();
        }
        return next < 0 ? null : line.toString(StandardCharsets.UTF_8);
    }

    static void run(String folder, Path source, String[] arguments) throws Exception {
        URLClassLoader loader = LOADERS.get(folder + source);
        if (loader == null) {
            loader = new URLClassLoader(
                new URL[] {compiled(folder, source).toUri().toURL()}, LOADERS.computeIfAbsent(folder, OldClients::ofJars));
            LOADERS.put(folder + source, loader);
        }
        Thread.currentThread().setContextClassLoader(loader);
        String name = source.getFileName().toString().replace(".java", "");
        loader.loadClass(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
    }

    static URLClassLoader ofJars(String folder) {
        List<URL> jars = new ArrayList<>();
        try {
            for (File jar : new File(folder).listFiles()) {
                jars.add(jar.toURI().toURL());
            }
        } catch (IOException error) {
            throw new IllegalArgumentException(folder, error);
        }
        return new URLClassLoader(jars.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    }

    static Path compiled(String folder, Path source) throws IOException {
        Path classes = Files.createTempDirectory(scratch, "classes");
        String jars = Arrays.stream(new File(folder).listFiles()).map(File::getPath).collect(Collectors.joining(":"));
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        int status = compiler.run(null, System.err, System.err, "-nowarn", "-Xlint:none", "-proc:none", "-implicit:class",
            "-classpath", jars, "-sourcepath", source.getParent().toString(), "-d", classes.toString(), source.toString());
        if (status != 0) {
            throw new IllegalArgumentException("cannot compile " + source + " against " + folder);
        }
        return classes;
    }
}
