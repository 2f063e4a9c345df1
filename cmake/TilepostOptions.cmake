# What to build. Defaults: everything here, only the libraries and the tool inside another project.
set(tilepost_GENERATOR_EXECUTABLE "" CACHE FILEPATH
    "A ready tilepost program to generate with; the generator is then not built")
set(tilepost_build_generator ON)
if(tilepost_GENERATOR_EXECUTABLE)
  set(tilepost_build_generator OFF)
endif()
set(tilepost_shared OFF)
if(BUILD_SHARED_LIBS)
  set(tilepost_shared ON)
endif()
option(TILEPOST_BUILD_GENERATOR "Build the generator (needs LLVM/Clang 19)"
       ${tilepost_build_generator})
option(TILEPOST_BUILD_PLANNER "Build tilepost::plan, which plans at run time (needs fmt, no LLVM)"
       ${TILEPOST_BUILD_GENERATOR})
option(TILEPOST_BUILD_TESTS "Build the tests (needs Catch2)" ${PROJECT_IS_TOP_LEVEL})
option(TILEPOST_BUILD_EXAMPLES "Build the examples as part of this project" OFF)
option(TILEPOST_INSTALL "Make the install target and the CMake package" ${PROJECT_IS_TOP_LEVEL})
option(TILEPOST_STATIC_LLVM "Link LLVM and Clang statically: one portable generator binary" OFF)
option(TILEPOST_SHARED "Make shared libraries of the runtime" ${tilepost_shared})
set(TILEPOST_UNITY ON CACHE STRING "ON: compile files that read Clang's headers eight at a time, and precompile the \
standard library's. ALL: compile up to 24 files of every library and test as one. A build from scratch takes less, an \
edit more")
set_property(CACHE TILEPOST_UNITY PROPERTY STRINGS ON ALL OFF)
option(TILEPOST_WERROR "Treat warnings as errors" OFF)
option(TILEPOST_NVTX "Ranges and names for profilers in the runtime's CUDA target, where the CUDA Toolkit has NVTX"
       ON)

# The CUDA target of the runtime: AUTO builds it where nvcc and NCCL are found.
set(TILEPOST_WITH_CUDA AUTO CACHE STRING "Build the runtime's CUDA target: AUTO, ON or OFF")
set_property(CACHE TILEPOST_WITH_CUDA PROPERTY STRINGS AUTO ON OFF)
set(TILEPOST_CUDA_ARCHITECTURES 80-real 86-real 89-real 90 CACHE STRING
    "Architectures of the runtime's own kernels")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(TILEPOST_HAS_CUDA OFF)
if(NOT TILEPOST_WITH_CUDA STREQUAL OFF)
  include(CheckLanguage)
  check_language(CUDA)
  find_package(NCCL QUIET)
  if(CMAKE_CUDA_COMPILER AND NCCL_FOUND)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80 90a)
    endif()
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc has had C++20 since 12.0.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit 12.8 REQUIRED)
    set(TILEPOST_HAS_CUDA ON)
  elseif(TILEPOST_WITH_CUDA STREQUAL ON)
    message(FATAL_ERROR "TILEPOST_WITH_CUDA is ON, but nvcc ('${CMAKE_CUDA_COMPILER}') or NCCL "
                        "('${NCCL_LIBRARY}') was not found; set CUDACXX and NCCL_ROOT\n${NCCL_REASON}")
  elseif(CMAKE_CUDA_COMPILER)
    message(STATUS "tilepost: NCCL not found, the CUDA target is left out: ${NCCL_REASON}")
  else()
    message(STATUS "tilepost: nvcc not found, the CUDA target is left out")
  endif()
endif()
