"""What pyproject.toml cannot say: each _kernels/*.pyx is an extension; table holds all of src_c."""

import os
import shlex
import sys
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# No contraction to fma and no relaxed arithmetic: results are the same bits for every compiler.
# -fwrapv: integers may overflow in lanes whose result is thrown away.
GCC = "-O3 -std=c11 -ffp-contract=off -fwrapv -fno-math-errno -g0 -fvisibility=hidden"
# On x86 gcc orders instructions before allocating registers only on request; clang always does.
GCC += " -fschedule-insns -fsched-pressure -Wno-ignored-optimization-argument"
MSVC = "/O2 /fp:precise"


class BuildKernels(build_ext):
    """Choose the flags by compiler; the caller's CFLAGS come last, so that they win."""

    def build_extensions(self):
        msvc = self.compiler.compiler_type == "msvc"
        own = os.environ.get("CFLAGS", "")
        for extension in self.extensions:
            # Only `table` and `checks` compute: what wraps them is made small.
            size = "" if extension.name.endswith((".table", ".checks")) else "-Os"
            flags = MSVC if msvc else f"{GCC} {size} {own}"
            extension.extra_compile_args = shlex.split(flags)
            if sys.platform == "linux" and not own:  # no symbols but for whoever wants to debug
                extension.extra_link_args = ["-s"]
        super().build_extensions()


def files(folder, pattern):
    """Relative POSIX paths, sorted, as setuptools wants them."""
    return sorted(path.as_posix() for path in Path(folder).glob(pattern))


kernels = [
    Extension(
        f"mialeak._kernels.{Path(pyx).stem}",
        sources=[pyx, *(files("src_c", "*.c") if Path(pyx).stem == "table" else [])],
        depends=files("src_c", "*.h"),
        include_dirs=["src_c", np.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
    )
    # Built side by side: the one that takes longest goes first.
    for pyx in sorted(files("mialeak/_kernels", "*.pyx"), key=lambda pyx: "table" not in pyx)
]
directives = {"language_level": 3, "boundscheck": False, "wraparound": False}

setup(
    ext_modules=cythonize(kernels, build_dir="build/cython", compiler_directives=directives),
    cmdclass={"build_ext": BuildKernels},
    options={"build_ext": {"parallel": True}},
)
