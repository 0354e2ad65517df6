package millstream;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/** Hadoop's local file system, but for permissions: Hadoop starts a process for each file that it gives some. */
public class LocalFiles extends LocalFileSystem {

    public LocalFiles() {
        super(new Raw());
    }

    public static class Raw extends RawLocalFileSystem {

        public void setPermission(Path path, FsPermission permission) throws IOException {
            try {
                Files.setAttribute(pathToFile(path).toPath(), "unix:mode", Integer.valueOf(permission.toShort()));
            } catch (InvalidPathException nameOfOtherLetters) {
                super.setPermission(path, permission);
            }
        }
    }

    /**
     * Files of any name. Spark takes names with signs of patterns for patterns, so it is shown other letters in their
     * place, from those that Unicode leaves to private use: see aliases.py.
     */
    public static class AnyName extends Raw {

        private static final String SIGNS = "\\*?[]{}";
        private static final int LETTERS = 0xE000;

        public File pathToFile(Path path) {
            File file = super.pathToFile(path);
            String own = ownName(file.getPath());
            return own.equals(file.getPath()) || file.exists() ? file : new File(own);
        }

        public FileStatus getFileStatus(Path path) throws IOException {
            return shown(super.getFileStatus(path));
        }

        public FileStatus[] listStatus(Path path) throws IOException {
            FileStatus[] found = super.listStatus(path);
            for (int i = 0; i < found.length; i++) {
                shown(found[i]);
            }
            return found;
        }

        private static FileStatus shown(FileStatus status) {
            String path = status.getPath().toString();
            StringBuilder letters = new StringBuilder();
            for (int i = 0; i < path.length(); i++) {
                char sign = path.charAt(i);
                letters.append(SIGNS.indexOf(sign) < 0 ? sign : (char) (LETTERS + sign));
            }
            status.setPath(new Path(letters.toString()));
            return status;
        }

        private static String ownName(String path) {
            StringBuilder own = new StringBuilder();
            for (int i = 0; i < path.length(); i++) {
                int sign = path.charAt(i) - LETTERS;
                own.append(sign >= 0 && SIGNS.indexOf(sign) >= 0 ? (char) sign : path.charAt(i));
            }
            return own.toString();
        }
    }
}
