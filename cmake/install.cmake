# SPDX-License-Identifier: Apache-2.0
# What `find_package(omnibal)` in another project needs.
include(CMakePackageConfigHelpers)

install(TARGETS omnibal EXPORT omnibal_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/omnibal DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/omnibal)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(OMNIBAL_BUILD_CLI)
  install(TARGETS omnibal_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(OMNIBAL_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/omnibal)
install(EXPORT omnibal_targets NAMESPACE omnibal:: DESTINATION ${OMNIBAL_PACKAGE_DIR})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/omnibal-config.cmake.in
  ${CMAKE_BINARY_DIR}/omnibal-config.cmake
  INSTALL_DESTINATION ${OMNIBAL_PACKAGE_DIR})
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/omnibal-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_BINARY_DIR}/omnibal-config.cmake ${CMAKE_BINARY_DIR}/omnibal-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindxxHash.cmake
  DESTINATION ${OMNIBAL_PACKAGE_DIR})
