"""The benchmarks of live emulation, beside their peers."""
