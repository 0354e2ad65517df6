"""Sub-commands of `millstream`, one per file; those of `bench` are its workloads."""
