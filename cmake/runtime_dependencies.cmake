# SPDX-License-Identifier: Apache-2.0
# What the trainer needs beside what the core needs.
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(GIF REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp libwebpdemux)
if(NOT OMNIBAL_BUILD_RUNTIME)
  return()
endif()

set(MPI_CXX_SKIP_MPICXX ON)  # the C functions alone
find_package(MPI REQUIRED COMPONENTS CXX)

# libtorch is the pip package torch (tests/python/requirements-runtime.txt says which): that of
# build/venv, which `./dev test` makes, or of another place by CMAKE_PREFIX_PATH.
set(venv_python ${PROJECT_SOURCE_DIR}/build/venv/bin/python)
if(NOT Torch_DIR AND EXISTS ${venv_python})
  execute_process(
    COMMAND ${venv_python} -c
      "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE torch_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND CMAKE_PREFIX_PATH ${torch_folder}/share/cmake)
endif()
find_package(Torch 2.13 REQUIRED)

# The CPU part alone, without the flags that the package would add to everything. Its headers come
# last: among them is another fmt than the one that is linked.
add_library(omnibal_torch INTERFACE)
foreach(folder IN LISTS TORCH_INCLUDE_DIRS)
  target_compile_options(omnibal_torch INTERFACE "SHELL:-idirafter ${folder}")
endforeach()
target_link_libraries(omnibal_torch INTERFACE
  $<TARGET_FILE:torch_cpu> $<TARGET_FILE:c10> Threads::Threads)
