"""What is in this machine, without a CUDA context, and whether it is what was asked for."""

import os
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.compile import ARCH_OF_CAPABILITY, require_compiler
from kwdb.errors import ConfigError, UnknownValueError

PRODUCTS: Final[Mapping[str, str]] = {
    "a100": "8.0", "h100": "9.0", "h200": "9.0", "h800": "9.0", "h20": "9.0", "gh200": "9.0",
    "b100": "10.0", "b200": "10.0", "gb200": "10.0", "b300": "10.3", "gb300": "10.3",
    "l40s": "8.9",
}  # fmt: skip
"""Product -> compute capability, for products that kernels are written for."""

_NO_GPU: Final = "to compile without one: kwdb bench --compile-only --arch sm_100a"


def gpu_status() -> str:
    """Return ok, no_driver, or the CUDA runtime's name of what is wrong.

    Makes no context. Nothing else of `cuda` that reaches for the driver may be called before this
    says ok: without a driver, cuda-core 1.2 raises at the first such call and hangs at the second.
    """
    from cuda.bindings import runtime

    _, driver = runtime.cudaDriverGetVersion()
    if driver == 0:
        return "no_driver"
    error, count = runtime.cudaGetDeviceCount()
    if int(error) == 0:
        return "ok" if count else "cudaErrorNoDevice"
    name = runtime.cudaGetErrorName(error)[1]
    return name.decode() if isinstance(name, bytes) else str(name)


def device_names() -> list[tuple[str, str]]:
    """Return name and compute capability of each device, in CUDA's order."""
    from cuda.bindings import runtime

    found = []
    for index in range(runtime.cudaGetDeviceCount()[1]):
        _, properties = runtime.cudaGetDeviceProperties(index)
        name = properties.name
        name = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
        found.append((name.rstrip("\0"), f"{properties.major}.{properties.minor}"))
    return found


def choose_device(wanted: str) -> tuple[int, str, str]:
    """Return index, name and compute capability of the device that `wanted` names, or of the first.

    Raises:
        UnknownValueError: no such product is known.
        ConfigError: there is no device, no driver, or another one.
    """
    wanted = wanted.casefold()
    if wanted != "auto" and wanted not in PRODUCTS:
        raise UnknownValueError("GPU", wanted, [*PRODUCTS, "auto"])
    require_compiler()
    status = gpu_status()
    if status != "ok":
        asked = "a GPU" if wanted == "auto" else wanted.upper()
        raise ConfigError(f"cannot measure on {asked}: {_explain(status)}; {_NO_GPU}")
    names = device_names()
    for index, (name, capability) in enumerate(names):
        if wanted == "auto" or _is_product(wanted, name):
            if capability not in ARCH_OF_CAPABILITY:
                raise ConfigError(f"{name} has compute capability {capability}; {_supported()}")
            return index, name, capability
    raise ConfigError(_other_device(wanted, names))


def _is_product(wanted: str, name: str) -> bool:
    return wanted in name.casefold().replace("-", " ").split()


def _explain(status: str) -> str:
    if status == "no_driver":
        return "no NVIDIA driver is installed"
    return f"the driver reports {status} (nvidia-smi says more)"


def _supported() -> str:
    return f"kernels are written for {', '.join(ARCH_OF_CAPABILITY)}"


def _other_device(wanted: str, names: list[tuple[str, str]]) -> str:
    found = ", ".join(f"{name} (compute capability {cc})" for name, cc in names)
    arch = ARCH_OF_CAPABILITY[PRODUCTS[wanted]]
    return (
        f"found {found}, not {wanted.upper()} ({PRODUCTS[wanted]}): use --gpu auto to measure on "
        f"what is here, or --compile-only --arch {arch}"
    )


def environment(gpu: Any, index: int, versions: Mapping[str, str | None]) -> dict[str, Any]:
    """Describe device and software; `gpu` is a `benchmarks.gpu.Gpu`.

    `context` holds what may change a figure, `info` what may not. A value that the driver or NVML
    does not give is None.
    """
    from benchmarks.gpu import checked

    driver = gpu.driver
    state = device_state(index)
    cuda_version = int(checked(driver.cuDriverGetVersion()))
    name = checked(driver.cuDeviceGetName(256, gpu.device)).partition(b"\0")[0].decode()
    major, minor = (gpu.attribute(f"COMPUTE_CAPABILITY_{one}") for one in ("MAJOR", "MINOR"))
    return {
        "gpu_name": name,
        "compute_capability": f"{major}.{minor}",
        "sm_count": gpu.sms,
        "l2_bytes": gpu.l2_bytes,
        "memory_bytes": int(checked(driver.cuDeviceTotalMem(gpu.device))),
        "driver_version": _driver_version(),
        "cuda_driver_version": f"{cuda_version // 1000}.{cuda_version % 1000 // 10}",
        "nvrtc_version": versions.get("nvrtc"),
        "context": {
            "ecc": bool(gpu.attribute("ECC_ENABLED")),
            "max_sm_clock_mhz": state["max_sm_clock_mhz"],
            "memory_clock_mhz": gpu.attribute("MEMORY_CLOCK_RATE") // 1000,
            "bus_width_bits": gpu.attribute("GLOBAL_MEMORY_BUS_WIDTH"),
            "mig": state["mig"],
            "headers": Path(versions.get("headers") or "").name or None,
        },
        "info": {
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.release()}",
            "cuda_bindings": versions.get("cuda_bindings"),
            "cuda_core": versions.get("cuda_core"),
            "container": Path("/.dockerenv").exists() or "KUBERNETES_SERVICE_HOST" in os.environ,
        },
    }


def _driver_version() -> str | None:
    """Read the display driver's version where the kernel module shows it."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        return None
    words = text.splitlines()[0].split() if text else []
    return next((word for word in words if word[:1].isdigit() and "." in word), None)


_REASONS_THAT_SLOW: Final = ("hw_slowdown", "thermal", "power_brake")


def device_state(index: int) -> dict[str, Any]:
    """Return clocks in MHz, temperature in degrees Celsius and throttle reasons, as NVML has them.

    None where NVML is missing or does not permit it; the CUDA device is asked for its NVML twin,
    since both count devices differently.
    """

    def asked(question: Callable[[Any], Any]) -> Any:
        try:
            return question(device)
        except Exception:  # noqa: BLE001 - NVML raises a class for each of its errors
            return None

    try:
        from cuda.core import Device

        device = Device(index).to_system_device()
    except Exception:  # noqa: BLE001 - as above
        device = None
    reasons = asked(lambda d: [str(reason).casefold() for reason in d.current_clock_event_reasons])
    slow = [r for r in reasons or [] if any(part in r for part in _REASONS_THAT_SLOW)]
    return {
        "sm_clock_mhz": asked(lambda d: d.get_clock("sm").get_current_mhz()),
        "max_sm_clock_mhz": asked(lambda d: d.get_clock("sm").get_max_mhz()),
        "temperature_c": asked(lambda d: d.temperature.get_sensor()),
        "clock_reasons": reasons,
        "throttle": ", ".join(slow) or None,
        "mig": asked(lambda d: bool(d.mig.mode)),
    }
