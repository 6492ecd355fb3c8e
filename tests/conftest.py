"""What all tests share: Hypothesis without clocks or chance, the kernel in the report's head."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "mialeak",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mialeak")


def pytest_report_header() -> list[str]:
    """Name the kernel that the tests run on."""
    try:
        from mialeak._kernels import binomial
    except ImportError as error:
        return [f"mialeak kernel: none ({error})"]
    return [f"mialeak kernel: {binomial.isa()} of {', '.join(binomial.isa_available())}"]
