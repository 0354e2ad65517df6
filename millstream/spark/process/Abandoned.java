import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.locks.Lock;

/** What Spark has opened and forgotten. Compiled in its process when it is first needed; see abandoned.py. */
public class Abandoned implements Thread.UncaughtExceptionHandler {

    /** A thread that was told to end does so without a word. */
    public void uncaughtException(Thread thread, Throwable problem) {
    }

    /** End the threads that watch over the idle processes of factories that made one process, and make no other. */
    public int endMonitors(String module) throws Exception {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        Thread[] threads = new Thread[group.activeCount() + 100];
        int count = group.enumerate(threads, true);
        int ended = 0;
        for (int i = 0; i < count; i++) {
            Thread thread = threads[i];
            if (thread.getClass().getName().endsWith("PythonWorkerFactory$MonitorThread")) {
                Object factory = field(thread, "$outer");
                if (module.equals(field(factory, "workerModule")) && Boolean.FALSE.equals(field(factory, "useDaemon"))) {
                    thread.setUncaughtExceptionHandler(this);
                    thread.interrupt();
                    ended++;
                }
            }
        }
        return ended;
    }

    /** Close connections to Python, by their ports here: the threads that called Python through them have ended. */
    public int closeConnections(Object client, String ports) throws Exception {
        Collection wanted = Arrays.asList(ports.split(","));
        List found = new ArrayList();
        Collection connections = (Collection) field(client, "connections");
        Lock lock = (Lock) field(client, "lock");
        lock.lock();
        try {
            for (Object connection : connections) {
                Socket socket = (Socket) field(connection, "socket");
                if (socket != null && wanted.contains(String.valueOf(socket.getLocalPort()))) {
                    found.add(connection);
                }
            }
            connections.removeAll(found);
        } finally {
            lock.unlock();
        }
        for (Object connection : found) {
            ((py4j.Py4JClientConnection) connection).shutdown();
        }
        return found.size();
    }

    /** Close files by their numbers: nothing refers to them any more. */
    public void closeFiles(String numbers) throws Exception {
        Constructor open = FileDescriptor.class.getDeclaredConstructor(new Class[] {int.class});
        open.setAccessible(true);
        for (String number : numbers.split(",")) {
            new FileOutputStream((FileDescriptor) open.newInstance(new Object[] {Integer.valueOf(number)})).close();
        }
    }

    private static Object field(Object owner, String name) throws Exception {
        for (Class kind = owner.getClass(); kind != null; kind = kind.getSuperclass()) {
            for (Field one : kind.getDeclaredFields()) {
                if (one.getName().equals(name)) {
                    one.setAccessible(true);
                    return one.get(owner);
                }
            }
        }
        throw new NoSuchFieldException(name);
    }
}
