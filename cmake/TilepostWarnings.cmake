# tilepost_warnings: private to every target of this project.
add_library(tilepost_warnings INTERFACE)
set(tilepost_cxx_warnings -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms on std::string, GCC bug 105651.
  list(APPEND tilepost_cxx_warnings -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Takes what a temporary llvm::ArrayRef refers to for a part of it, GCC bug 109642.
  list(APPEND tilepost_cxx_warnings -Wno-dangling-reference)
endif()
if(TILEPOST_WERROR)
  list(APPEND tilepost_cxx_warnings -Werror)
endif()
list(JOIN tilepost_cxx_warnings "," tilepost_host_warnings)
target_compile_options(tilepost_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:${tilepost_cxx_warnings}>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${TILEPOST_WERROR}>>:-Werror=all-warnings>)
