# GCC collects garbage whenever its heap has grown by a part of what it was. If the first collection waits for half a GB,
# most sources need none. That saves a tenth of the time of those that read Clang's headers.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=524288>")

# tilepost_precompile(<target> [<header>…]): the target's C++ sources are compiled with the standard library's headers,
# and with those named, already read. To read them takes most of the time of a small source.
function(tilepost_precompile target)
  if(NOT TILEPOST_UNITY)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/std.h>" ${ARGN})
endfunction()
