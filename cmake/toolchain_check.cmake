# SPDX-License-Identifier: Apache-2.0
# Refuses compilers that lack the C++20 library that the code uses, in one sentence.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "omnibal needs g++ 12 or newer (Debian 12, Ubuntu 24.04); "
    "this is g++ ${CMAKE_CXX_COMPILER_VERSION}.")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
  message(FATAL_ERROR "omnibal needs clang 15 or newer; "
    "this is clang ${CMAKE_CXX_COMPILER_VERSION}.")
endif()
