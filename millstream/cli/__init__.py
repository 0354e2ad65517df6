"""The command `millstream`: run, shell, explain, bench."""
