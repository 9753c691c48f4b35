"""Measurements: environment, run, compiled kernel, case, samples and correctness checks."""

import sqlalchemy as sa

from kwdb.models.base import Text, UTCTime, column, primary_key, reference, table

environments = table(
    "environments",
    "A machine as a run found it; equal machines share a row.",
    primary_key(),
    column("fingerprint", Text, "sha256 of the fields below", required=True),
    reference("gpu_id", "gpus.id", "GPU product; NULL: none, or not known to us"),
    column("gpu_name", Text, "name as the driver gives it"),
    column("compute_capability", Text, "e.g. 9.0"),
    column("sm_count", sa.Integer, "streaming multiprocessors"),
    column("l2_bytes", sa.BigInteger, "L2 cache in bytes"),
    column("memory_bytes", sa.BigInteger, "device memory in bytes"),
    column("driver_version", Text, "display driver"),
    column("cuda_driver_version", Text, "CUDA version of the driver"),
    column("nvrtc_version", Text, "compiler"),
    column("context", sa.JSON(none_as_null=True), "what may change a figure: clocks, ECC, MIG …"),
    column("info", sa.JSON(none_as_null=True), "what does not: Python, operating system …"),
    sa.UniqueConstraint("fingerprint"),
)

bench_runs = table(
    "bench_runs",
    "One call of the benchmark runner.",
    primary_key(),
    column("run_key", Text, "unique id of the run, given where it ran", required=True),
    reference("environment_id", "environments.id", "the machine"),
    column("started_at", UTCTime, "when it began", required=True),
    column("finished_at", UTCTime, "when it ended; NULL: it did not"),
    column("arguments", Text, "command line", required=True),
    column("status", Text, "done, failed or compiled_only", required=True),
    column("kwdb_version", Text, "version of the program", required=True),
    sa.UniqueConstraint("run_key"),
    sa.Index(None, "environment_id"),
)

kernel_artifacts = table(
    "kernel_artifacts",
    "A kernel compiled for an architecture.",
    primary_key(),
    column("cubin_sha256", Text, "hex digest of the cubin; NULL: it did not compile"),
    column("source_sha256", Text, "hex digest of the source", required=True),
    column("kernel", Text, "name of the kernel", required=True),
    column("arch", Text, "compiler target, e.g. sm_100a", required=True),
    column("options", Text, "compiler options", required=True),
    column("registers", sa.Integer, "registers per thread"),
    column("spill_bytes", sa.Integer, "bytes spilt per thread"),
    column("shared_memory_bytes", sa.Integer, "static shared memory per block"),
    column("log", Text, "what the compiler said"),
    sa.UniqueConstraint("source_sha256", "arch", "options", "cubin_sha256"),
)

bench_cases = table(
    "bench_cases",
    "One kernel on one workload in one run.",
    primary_key(),
    reference("bench_run_id", "bench_runs.id", "the run", required=True, ondelete="CASCADE"),
    reference("kernel_artifact_id", "kernel_artifacts.id", "what was compiled"),
    column("problem", Text, "name of the problem, e.g. nvfp4-gemv", required=True),
    column("kernel", Text, "name of the kernel", required=True),
    column("shape", Text, "workload, e.g. M=7168 K=16384 L=1", required=True),
    column("input_recipe", Text, "how inputs were drawn: contest or wide", required=True),
    column("status", Text, "passed, compiled_only, incorrect, implausible, throttled …"),
    column("message", Text, "why it ended so"),
    column("sol_us", sa.Float, "speed-of-light time in microseconds"),
    column("sol_basis", Text, "what bounds it: bytes, operations, launch"),
    column("roof_gb_s", sa.Float, "read bandwidth measured in the same run, GB/s"),
    sa.UniqueConstraint("bench_run_id", "problem", "kernel", "shape", "input_recipe"),
    sa.Index(None, "kernel_artifact_id"),
)

bench_samples = table(
    "bench_samples",
    "The samples of a case by one timing method.",
    primary_key(),
    reference("bench_case_id", "bench_cases.id", "the case", required=True, ondelete="CASCADE"),
    column("method", Text, "amortized_graph or single_launch", required=True),
    column("cache_state", Text, "cold or hot", required=True),
    column("n", sa.Integer, "samples kept", required=True),
    column("n_discarded", sa.Integer, "samples dropped, with reason in the case", required=True),
    column("min_us", sa.Float, "microseconds"),
    column("p05_us", sa.Float, "microseconds"),
    column("q1_us", sa.Float, "microseconds"),
    column("median_us", sa.Float, "microseconds; the headline"),
    column("q3_us", sa.Float, "microseconds"),
    column("p95_us", sa.Float, "microseconds"),
    column("mean_us", sa.Float, "microseconds"),
    column("std_us", sa.Float, "microseconds"),
    column("ci_low_us", sa.Float, "lower end of the median's 95 % interval"),
    column("ci_high_us", sa.Float, "upper end of the median's 95 % interval"),
    column("samples", sa.LargeBinary, "all samples, little-endian float64 microseconds"),
    sa.UniqueConstraint("bench_case_id", "method", "cache_state"),
)

correctness_checks = table(
    "correctness_checks",
    "A comparison of a kernel's output with the host reference.",
    primary_key(),
    reference("bench_case_id", "bench_cases.id", "the case", required=True, ondelete="CASCADE"),
    column("seed", sa.Integer, "seed of the inputs", required=True),
    column("is_passed", sa.Boolean, "within tolerance, guards intact", required=True),
    column("max_abs", sa.Float, "largest absolute error"),
    column("max_rel", sa.Float, "largest relative error"),
    column("matched_ratio", sa.Float, "share of elements within tolerance"),
    column("rtol", sa.Float, "relative tolerance"),
    column("atol", sa.Float, "absolute tolerance"),
    column("message", Text, "what was found"),
    sa.UniqueConstraint("bench_case_id", "seed"),
)
