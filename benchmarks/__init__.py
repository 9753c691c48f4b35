"""Everything that touches a GPU: kernels, their compilation, verification and timing."""
