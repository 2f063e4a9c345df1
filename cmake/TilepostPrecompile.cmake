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

# tilepost_unite(<target> <count>): with TILEPOST_UNITY=ALL up to <count> sources of the target are compiled as one, those
# whose names do not clash (unite.py). Sources with flags of their own and generated ones are left out.
function(tilepost_unite target count)
  if(NOT TILEPOST_UNITY STREQUAL "ALL")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set(found "")
  foreach(source IN LISTS sources)
    get_filename_component(source "${source}" ABSOLUTE)
    string(FIND "${source}" "${PROJECT_BINARY_DIR}/" generated)
    if(generated EQUAL -1)
      list(APPEND found "${source}")
    endif()
  endforeach()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/unite.py ${count} ${found}
                  OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[0-9]+" groups "${groups}")
  foreach(source group IN ZIP_LISTS found groups)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${target}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  tilepost_allow_united_types(${target})
endfunction()

# GCC takes a file that another includes for a header, in which a type of an unnamed namespace would be a fault.
function(tilepost_allow_united_types target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()
