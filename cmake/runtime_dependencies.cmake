# SPDX-License-Identifier: Apache-2.0
# What the trainer needs beside what the core needs.
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(GIF REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp libwebpdemux)
set(MPI_CXX_SKIP_MPICXX ON)  # the C functions alone
find_package(MPI REQUIRED COMPONENTS CXX)
