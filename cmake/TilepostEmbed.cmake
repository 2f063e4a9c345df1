# The files the generator carries, as C++: library tilepost_resources (generator/resources.h).
#
# Included by CMake it defines the library; run as a script (cmake -P) it writes the C++ file:
#   cmake -DROOT=<folder> -DCLANG=<Clang's headers> -DLIST=<file with one path per line> -DOUTPUT=<file>
#         -P TilepostEmbed.cmake
# A path clang/… is looked for among Clang's headers.

if(CMAKE_SCRIPT_MODE_FILE)
  # Compilers bound the length of one literal (MSVC: 16380 bytes), so a text becomes several, cut
  # after a line.
  set(piece_bytes 8000)
  file(STRINGS "${LIST}" paths)
  set(texts "")
  set(table "")
  set(index 0)
  foreach(path IN LISTS paths)
    set(file "${ROOT}/${path}")
    if(path MATCHES "^clang/(.*)")
      set(file "${CLANG}/${CMAKE_MATCH_1}")
    endif()
    file(READ "${file}" text)
    string(APPEND texts "\n// ${path}\nconstexpr char kText${index}[] =")
    string(LENGTH "${text}" left)
    if(left EQUAL 0)
      string(APPEND texts "\n    \"\"")
    endif()
    while(left GREATER 0)
      string(SUBSTRING "${text}" 0 ${piece_bytes} piece)
      if(left GREATER piece_bytes)
        string(FIND "${piece}" "\n" cut REVERSE)
        if(cut GREATER 0)
          math(EXPR cut "${cut} + 1")
          string(SUBSTRING "${piece}" 0 ${cut} piece)
        endif()
      endif()
      string(LENGTH "${piece}" used)
      string(SUBSTRING "${text}" ${used} -1 text)
      math(EXPR left "${left} - ${used}")
      string(APPEND texts "\n    R\"tilepost_file(${piece})tilepost_file\"")
    endwhile()
    string(APPEND texts ";\n")
    string(APPEND table "    {\"${path}\", {kText${index}, sizeof(kText${index}) - 1}},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  file(WRITE "${OUTPUT}" "// Written by cmake/TilepostEmbed.cmake.\n#include \"generator/resources.h\"\n\n"
    "namespace tilepost {\nnamespace {\n${texts}\nconstexpr Resource kResources[] = {\n${table}};\n\n"
    "}  // namespace\n\n"
    "llvm::ArrayRef<Resource> resources() { return kResources; }\n\n}  // namespace tilepost\n")
  return()
endif()

# Sorted by path: find_resource searches by halving. A file added or removed is noticed by the next
# build.
file(GLOB_RECURSE tilepost_embedded RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/include/tilepost/*.h ${PROJECT_SOURCE_DIR}/include/tilepost/*.hpp
  ${PROJECT_SOURCE_DIR}/include/tilepost/*.cuh
  ${PROJECT_SOURCE_DIR}/runtime/*.h ${PROJECT_SOURCE_DIR}/runtime/*.cuh
  ${PROJECT_SOURCE_DIR}/runtime/*.cpp ${PROJECT_SOURCE_DIR}/runtime/*.cu
  ${PROJECT_SOURCE_DIR}/runtime/*.py
  ${PROJECT_SOURCE_DIR}/templates/*.h ${PROJECT_SOURCE_DIR}/templates/*.cuh
  ${PROJECT_SOURCE_DIR}/templates/*.cpp ${PROJECT_SOURCE_DIR}/templates/*.cu
  ${PROJECT_SOURCE_DIR}/generator/bundle/*.in)
list(APPEND tilepost_embedded LICENSE cmake/FindNCCL.cmake)  # for bundles, as generator/bundle is

# Clang's own headers, which kernels that are read with the CUDA Toolkit's need: those for CUDA, and what every
# C++ compiler brings. They must be those of the Clang that reads.
string(REGEX MATCH "^[0-9]+" tilepost_clang_version "${LLVM_VERSION}")
set(tilepost_clang_headers ${LLVM_LIBRARY_DIR}/clang/${tilepost_clang_version}/include)
file(GLOB_RECURSE tilepost_clang_embedded RELATIVE ${tilepost_clang_headers}
  ${tilepost_clang_headers}/__clang_cuda_*.h ${tilepost_clang_headers}/cuda_wrappers/*
  ${tilepost_clang_headers}/__std*.h ${tilepost_clang_headers}/__float*.h)
foreach(name float inttypes iso646 limits stdalign stdarg stdatomic stdbool stddef stdint stdnoreturn tgmath
             unwind varargs)
  list(APPEND tilepost_clang_embedded ${name}.h)
endforeach()
foreach(name stddef.h __clang_cuda_runtime_wrapper.h cuda_wrappers/algorithm)
  if(NOT EXISTS ${tilepost_clang_headers}/${name})
    message(FATAL_ERROR "Clang's own header ${name} is not in ${tilepost_clang_headers}; install the package that "
                        "has it (libclang-common-${tilepost_clang_version}-dev)")
  endif()
endforeach()
set(tilepost_embedded_files ${tilepost_embedded})
list(TRANSFORM tilepost_embedded_files PREPEND "${PROJECT_SOURCE_DIR}/")
foreach(header ${tilepost_clang_embedded})
  list(APPEND tilepost_embedded clang/${header})
  list(APPEND tilepost_embedded_files ${tilepost_clang_headers}/${header})
endforeach()
list(REMOVE_DUPLICATES tilepost_embedded)
list(SORT tilepost_embedded)
set(tilepost_embed_dir ${PROJECT_BINARY_DIR}/generated)
list(JOIN tilepost_embedded "\n" tilepost_embed_list)
file(CONFIGURE OUTPUT ${tilepost_embed_dir}/resources.txt CONTENT "${tilepost_embed_list}\n" @ONLY)
add_custom_command(
  OUTPUT ${tilepost_embed_dir}/resources.cpp
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DCLANG=${tilepost_clang_headers}
          -DLIST=${tilepost_embed_dir}/resources.txt
          -DOUTPUT=${tilepost_embed_dir}/resources.cpp -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${tilepost_embedded_files} ${tilepost_embed_dir}/resources.txt ${CMAKE_CURRENT_LIST_FILE}
  COMMENT "Embedding the generator's resources"
  VERBATIM)

add_library(tilepost_resources STATIC ${PROJECT_SOURCE_DIR}/generator/resources.cpp
                                      ${tilepost_embed_dir}/resources.cpp)
target_include_directories(tilepost_resources PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(tilepost_resources PUBLIC tilepost_llvm PRIVATE tilepost_warnings)
