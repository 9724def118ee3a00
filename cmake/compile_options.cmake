# SPDX-License-Identifier: Apache-2.0
# Flags every target gets. -ffp-contract=off: a fused multiply-add would make the same plan differ
# between machines.
add_library(omnibal_compile_options INTERFACE)
target_compile_features(omnibal_compile_options INTERFACE cxx_std_20)
target_compile_options(omnibal_compile_options INTERFACE
  -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: string concatenation in optimised builds draws a false -Wrestrict.
  target_compile_options(omnibal_compile_options INTERFACE -Wno-restrict)
endif()

option(OMNIBAL_WERROR "Treat warnings as errors" OFF)
if(OMNIBAL_WERROR)
  target_compile_options(omnibal_compile_options INTERFACE -Werror)
endif()

set(OMNIBAL_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize= takes them")
if(OMNIBAL_SANITIZE)
  target_compile_options(omnibal_compile_options INTERFACE
    -fsanitize=${OMNIBAL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(omnibal_compile_options INTERFACE -fsanitize=${OMNIBAL_SANITIZE})
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
