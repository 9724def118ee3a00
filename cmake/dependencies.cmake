# SPDX-License-Identifier: Apache-2.0
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(simdjson REQUIRED)
find_package(tomlplusplus REQUIRED)
if(NOT OMNIBAL_STD_THREADS)
  find_package(TBB REQUIRED)
endif()

# Debian's xxhash and Random123 ship no CMake package.
list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
find_package(xxHash REQUIRED)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
