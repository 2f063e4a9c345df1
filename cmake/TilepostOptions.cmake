# What to build. Defaults: everything here, only the libraries and the tool inside another project.
option(TILEPOST_BUILD_GENERATOR "Build the generator (needs LLVM/Clang 19)" ON)
option(TILEPOST_BUILD_TESTS "Build the tests (needs Catch2)" ${PROJECT_IS_TOP_LEVEL})
option(TILEPOST_STATIC_LLVM "Link LLVM and Clang statically: one portable generator binary" OFF)
option(TILEPOST_WERROR "Treat warnings as errors" OFF)

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
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit 12.8 REQUIRED)
    set(TILEPOST_HAS_CUDA ON)
  elseif(TILEPOST_WITH_CUDA STREQUAL ON)
    message(FATAL_ERROR "TILEPOST_WITH_CUDA is ON, but nvcc ('${CMAKE_CUDA_COMPILER}') or NCCL "
                        "('${NCCL_LIBRARY}') was not found; set CUDACXX and NCCL_ROOT")
  else()
    message(STATUS "tilepost: nvcc or NCCL not found, the CUDA target is left out")
  endif()
endif()
