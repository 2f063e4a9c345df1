# Files for pkg-config: tilepost-core, tilepost-host and tilepost-cuda are what CMake calls tilepost::core and so on.
set(pc_folder "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH from_pc_to_lib "${pc_folder}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH from_pc_to_include "${pc_folder}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")

# tilepost_add_pc(<name> DESCRIPTION <text> [REQUIRES <module>] [LIBRARIES <flag>…] [VARIABLES <name>=<value>…])
function(tilepost_add_pc name)
  cmake_parse_arguments(arg "" "DESCRIPTION;REQUIRES" "LIBRARIES;VARIABLES" ${ARGN})
  set(description "${arg_DESCRIPTION}")
  set(requires "${arg_REQUIRES}")
  list(JOIN arg_LIBRARIES " " libraries)
  list(JOIN arg_VARIABLES "\n" variables)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/tilepost.pc.in" "${PROJECT_BINARY_DIR}/install/tilepost-${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/install/tilepost-${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

# Archives leave the C++ library to whoever links them, who may do so with a C compiler.
set(standard_library "")
if(NOT TILEPOST_SHARED)
  set(standard_library -lstdc++)
endif()
tilepost_add_pc(core DESCRIPTION "tilepost's runtime, what all targets have in common" LIBRARIES ${standard_library})
tilepost_add_pc(host DESCRIPTION "tilepost's runtime for the host target" REQUIRES "tilepost-core = ${PROJECT_VERSION}"
                LIBRARIES -pthread)
if(TARGET tilepost_cuda)
  # nvcc does not know -pthread.
  # Where CUDA and NCCL lie is for the machine to say: --define-variable=cuda_libdir=… moves the one, nccl the other.
  set(cudart -lcudart_static -lrt -ldl)
  if(TILEPOST_SHARED)
    set(cudart -lcudart)
  endif()
  tilepost_add_pc(cuda DESCRIPTION "tilepost's runtime for GPUs" REQUIRES "tilepost-core = ${PROJECT_VERSION}"
                  LIBRARIES "-L\${cuda_libdir}" ${cudart} "\${nccl}" -lpthread
                  VARIABLES "cuda_libdir=${CUDAToolkit_LIBRARY_DIR}" "nccl=${NCCL_LIBRARY}")
endif()
