# Installation, and find_package(tilepost) from the install tree as well as from this build tree.
include(CMakePackageConfigHelpers)
include(TilepostHelpers)

# Inside this build, find_package(tilepost) means the targets that are here already: an example or a
# project that has tilepost as a subdirectory needs no other way to ask for it.
file(WRITE "${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/tilepost-config.cmake" "set(tilepost_FOUND TRUE)\n")
write_basic_package_version_file(
  "${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/tilepost-config-version.cmake"
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
if(NOT TILEPOST_INSTALL)
  return()
endif()

set(tilepost_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tilepost")
# What the package consists of is the component `package`, from which python/tilepost_cli makes a wheel.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME package)

# tilepost_add_export(<export> TARGETS <target>… [BUILD_ONLY <target>…] [COMPONENT <component>]): one set of targets, in
# both trees. BUILD_ONLY targets are what only the build tree's libraries refer to.
function(tilepost_add_export export)
  cmake_parse_arguments(arg "" "COMPONENT" "TARGETS;BUILD_ONLY" ${ARGN})
  if(arg_COMPONENT)
    set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME ${arg_COMPONENT})
  endif()
  install(TARGETS ${arg_TARGETS} EXPORT ${export}
          RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT ${export} NAMESPACE tilepost:: DESTINATION "${tilepost_package_dir}")
  export(TARGETS ${arg_TARGETS} ${arg_BUILD_ONLY} NAMESPACE tilepost::
         FILE "${PROJECT_BINARY_DIR}/${export}.cmake")
endfunction()

set(kind "")
if(TILEPOST_SHARED)
  set(kind _shared)
endif()
tilepost_add_export(tilepostTargets TARGETS tilepost_headers tilepost_core${kind} tilepost_host${kind}
                    BUILD_ONLY tilepost_warnings)
if(TARGET tilepost_cuda)
  tilepost_add_export(tilepostCudaTargets TARGETS tilepost_cuda${kind})
endif()
include(TilepostPkgConfig)
if(TARGET tilepost)
  tilepost_add_export(tilepostGeneratorTargets TARGETS tilepost)
endif()
# The wheel leaves the planner out, which would make it too large.
if(TARGET tilepost_program)
  tilepost_add_export(tilepostPlanTargets TARGETS tilepost_program${kind} COMPONENT planner)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/cmake/TilepostHelpers.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake"
        DESTINATION "${tilepost_package_dir}")

# The two configuration files differ in where the CMake modules lie.
set(tilepost_modules "${PROJECT_SOURCE_DIR}/cmake")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/tilepostConfig.cmake.in" "${PROJECT_BINARY_DIR}/tilepostConfig.cmake"
  INSTALL_DESTINATION "${PROJECT_BINARY_DIR}" INSTALL_PREFIX "${PROJECT_BINARY_DIR}"
  NO_SET_AND_CHECK_MACRO)
set(tilepost_modules "\${CMAKE_CURRENT_LIST_DIR}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/tilepostConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/install/tilepostConfig.cmake"
  INSTALL_DESTINATION "${tilepost_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tilepostConfigVersion.cmake"
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/install/tilepostConfig.cmake"
              "${PROJECT_BINARY_DIR}/tilepostConfigVersion.cmake"
        DESTINATION "${tilepost_package_dir}")
