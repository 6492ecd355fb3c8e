"""Compiled kernels: Cython around src_c, array plumbing and nothing else."""
