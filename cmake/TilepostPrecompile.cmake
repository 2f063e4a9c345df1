# tilepost_precompile(<target> [<header>…]): the target's C++ sources are compiled with the standard library's headers,
# and with those named, already read. To read them takes most of the time of a small source.
function(tilepost_precompile target)
  if(NOT TILEPOST_UNITY)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/std.h>" ${ARGN})
endfunction()
