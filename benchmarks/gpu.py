"""The CUDA driver as the runner needs it: one context, buffers, launches, graphs, events.

Only the child process of a case uses this. A failed call raises `DeviceError` with the driver's
own name for it.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.source import Launch

POISON: Final = 0xFF
"""Byte of unwritten memory; two or four of them are a NaN."""
GUARD_BYTES: Final = 4096
"""Poisoned memory before and after each output."""


class DeviceError(Exception):
    """A call of the driver failed; the context may be lost."""


def checked(result: tuple[Any, ...]) -> Any:
    """Return what a driver call gave beside its status; several values as a tuple.

    Raises:
        DeviceError: the status is an error.
    """
    status, *values = result
    if int(status) != 0:
        raise DeviceError(str(status).rsplit(".", 1)[-1].partition(":")[0].rstrip(">"))
    return values[0] if len(values) == 1 else tuple(values)


class Gpu:
    """A device with its primary context current in this thread."""

    def __init__(self, index: int = 0) -> None:
        from cuda.bindings import driver

        self.driver: Any = driver
        checked(driver.cuInit(0))
        self.device = checked(driver.cuDeviceGet(index))
        self.context = checked(driver.cuDevicePrimaryCtxRetain(self.device))
        checked(driver.cuCtxSetCurrent(self.context))
        self.stream = checked(driver.cuStreamCreate(1))  # does not wait for the null stream
        self.sms: int = self.attribute("MULTIPROCESSOR_COUNT")
        self.l2_bytes: int = self.attribute("L2_CACHE_SIZE")
        # Nothing may be set aside in L2 for one kernel's data: it would survive a flush.
        limit = driver.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE
        if self.attribute("MAX_PERSISTING_L2_CACHE_SIZE"):
            checked(driver.cuCtxSetLimit(limit, 0))

    def attribute(self, name: str) -> int:
        """Return a device attribute by the end of its CU_DEVICE_ATTRIBUTE name."""
        key = getattr(self.driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(checked(self.driver.cuDeviceGetAttribute(key, self.device)))

    def free_bytes(self) -> int:
        """Return the device memory that is free."""
        return int(checked(self.driver.cuMemGetInfo())[0])

    def allocate(self, size: int) -> int:
        """Return the address of `size` bytes."""
        return int(checked(self.driver.cuMemAlloc(max(size, 16))))

    def release(self, address: int) -> None:
        """Give memory back."""
        checked(self.driver.cuMemFree(address))

    def fill(self, address: int, size: int, byte: int) -> None:
        """Set memory on the stream."""
        checked(self.driver.cuMemsetD8Async(address, byte, size, self.stream))

    def upload(self, address: int, array: npt.NDArray[Any]) -> None:
        """Copy an array to the device."""
        flat = np.ascontiguousarray(array)
        checked(self.driver.cuMemcpyHtoD(address, flat.ctypes.data, flat.nbytes))

    def download(self, address: int, size: int) -> npt.NDArray[np.uint8]:
        """Return bytes of the device."""
        self.wait()
        out = np.empty(size, np.uint8)
        checked(self.driver.cuMemcpyDtoH(out.ctypes.data, address, size))
        return out

    def wait(self) -> None:
        """Wait for everything on the device, on whatever stream."""
        checked(self.driver.cuCtxSynchronize())

    def load(self, cubin: bytes, entry: str) -> Any:
        """Return the function `entry` of a module; the module stays loaded."""
        module = checked(self.driver.cuModuleLoadData(cubin))
        return checked(self.driver.cuModuleGetFunction(module, entry.encode()))

    def allow_shared(self, function: Any, size: int) -> None:
        """Let a function have `size` bytes of dynamic shared memory."""
        key = self.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        checked(self.driver.cuFuncSetAttribute(function, key, size))

    def launch(
        self, function: Any, how: Launch, values: Sequence[Any], types: Sequence[Any]
    ) -> None:
        """Start a kernel on the stream, or record it where a graph is being captured."""
        arguments = (tuple(values), tuple(types))
        checked(
            self.driver.cuLaunchKernel(
                function, *how.grid, *how.block, how.shared_bytes, self.stream, arguments, 0
            )
        )

    def capture(self, record: Callable[[], None]) -> Any:
        """Return an executable graph of what `record` launches."""
        mode = self.driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        checked(self.driver.cuStreamBeginCapture(self.stream, mode))
        record()
        graph = checked(self.driver.cuStreamEndCapture(self.stream))
        return checked(self.driver.cuGraphInstantiate(graph, 0))

    def replay(self, graph: Any) -> None:
        """Launch a graph on the stream."""
        checked(self.driver.cuGraphLaunch(graph, self.stream))

    def event(self) -> Any:
        """Return a new event that takes the time."""
        return checked(self.driver.cuEventCreate(0))

    def record(self, event: Any) -> None:
        """Record an event on the stream."""
        checked(self.driver.cuEventRecord(event, self.stream))

    def elapsed_us(self, start: Any, stop: Any) -> float:
        """Wait for `stop`; return the microseconds between both events."""
        checked(self.driver.cuEventSynchronize(stop))
        return float(checked(self.driver.cuEventElapsedTime(start, stop))) * 1e3

    def forget_persisting(self) -> None:
        """Return lines that were kept in L2 to the ordinary ones."""
        checked(self.driver.cuCtxResetPersistingL2Cache())


POINTER: Final = ctypes.c_void_p
INT32: Final = ctypes.c_int
FLOAT32: Final = ctypes.c_float
