"""A kernel on a shape on the GPU: input sets at fixed addresses, outputs between guards."""

from typing import Any

import numpy as np

from benchmarks.gpu import FLOAT32, GUARD_BYTES, INT32, POINTER, POISON, Gpu
from benchmarks.problem import Problem, Shape
from benchmarks.source import KernelSource
from benchmarks.verify import Output


class GpuCase:
    """Executor (see `benchmarks.verify`) with `sets` input sets; call `close` when done."""

    def __init__(
        self, gpu: Gpu, kernel: KernelSource, cubin: bytes, problem: Problem, shape: Shape
    ) -> None:
        self.gpu, self.problem, self.shape = gpu, problem, shape
        self.sets = 0
        self.how = kernel.launch(shape, gpu.sms)
        self.function = gpu.load(cubin, kernel.entry)
        gpu.allow_shared(self.function, self.how.shared_bytes)
        self._dtype = np.dtype(problem.module.OUTPUT_DTYPE)
        self._inputs: list[list[int]] = []
        self._outputs: list[int] = []
        self._written: list[Any] = []
        self._size = 0

    def add_sets(self, count: int, inputs: Any) -> None:
        """Allocate input sets of the sizes of `inputs` until there are `count`."""
        rows = self.problem.module.output_shape(self.shape)
        self._size = int(np.prod(rows)) * self._dtype.itemsize
        while self.sets < count:
            self._inputs.append([self.gpu.allocate(array.nbytes) for array in inputs.arrays])
            self._outputs.append(self.gpu.allocate(self._size + 2 * GUARD_BYTES))
            self._written.append(None)
            self.sets += 1

    def close(self) -> None:
        """Give all memory back."""
        self.gpu.wait()
        for address in [*(one for pointers in self._inputs for one in pointers), *self._outputs]:
            self.gpu.release(address)
        self._inputs, self._outputs, self.sets = [], [], 0

    def write_inputs(self, index: int, inputs: Any) -> None:
        """Copy operands to the addresses of set `index`."""
        for address, array in zip(self._inputs[index], inputs.arrays, strict=True):
            self.gpu.upload(address, array)
        self._written[index] = inputs

    def inputs_intact(self, index: int) -> bool:
        """Read the operands back and compare."""
        pairs = zip(self._inputs[index], self._written[index].arrays, strict=True)
        return all(
            np.array_equal(self.gpu.download(address, array.nbytes), array.reshape(-1))
            for address, array in pairs
        )

    def poison(self, index: int) -> None:
        """Fill the output and its guards with poison."""
        self.gpu.fill(self._outputs[index], self._size + 2 * GUARD_BYTES, POISON)

    def launch(self, index: int) -> None:
        """Start the kernel on set `index`."""
        inputs = self._written[index]
        pointers = [*self._inputs[index], inputs.alpha, self._outputs[index] + GUARD_BYTES]
        sizes = self.problem.module.scalar_arguments(self.shape)
        types = [POINTER] * len(self._inputs[index]) + [FLOAT32, POINTER] + [INT32] * len(sizes)
        self.gpu.launch(self.function, self.how, [*pointers, *sizes], types)

    def run(self, index: int) -> None:
        """Start the kernel and wait for the device."""
        self.launch(index)
        self.gpu.wait()

    def output(self, index: int) -> Output:
        """Return values, poison and guards of set `index`."""
        memory = self.gpu.download(self._outputs[index], self._size + 2 * GUARD_BYTES)
        body = memory[GUARD_BYTES : GUARD_BYTES + self._size]
        guards = np.concatenate([memory[:GUARD_BYTES], memory[GUARD_BYTES + self._size :]])
        values = body.view(self._dtype).reshape(self.problem.module.output_shape(self.shape))
        is_poison = (body.reshape(-1, self._dtype.itemsize) == POISON).all(axis=1)
        return Output(values, is_poison.reshape(values.shape), bool((guards == POISON).all()))
