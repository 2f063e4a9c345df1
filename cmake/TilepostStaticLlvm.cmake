# Links LLVM, Clang, zlib and zstd as archives, so that the tool is one file that runs on any Linux of this
# glibc or newer. Debian's imported targets of Clang pull in the shared libLLVM, so the archives are named here.
set(clang_archives Tooling Frontend Serialization Driver Parse Sema Analysis APINotes Edit AST ASTMatchers
    Lex Basic Support ToolingCore Rewrite Format ToolingInclusions)
list(TRANSFORM clang_archives REPLACE "(.+)" "${LLVM_LIBRARY_DIR}/libclang\\1.a")
set(llvm_components support option frontendopenmp frontendoffloading frontendhlsl mc mcparser bitreader
    binaryformat targetparser windowsdriver profiledata)

# tilepost_need_archives(<Debian package> <file>…): stops where a file is missing, which the linker would
# report late and by its name alone.
function(tilepost_need_archives package)
  foreach(file IN LISTS ARGN)
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "TILEPOST_STATIC_LLVM is ON and the archive '${file}' is not there; install the package "
                          "that has it (Debian and Ubuntu: ${package}), or set TILEPOST_STATIC_LLVM to OFF")
    endif()
  endforeach()
endfunction()

set(llvm_config "${LLVM_TOOLS_BINARY_DIR}/llvm-config")
tilepost_need_archives(libclang-${LLVM_VERSION_MAJOR}-dev ${clang_archives})
if(NOT EXISTS "${llvm_config}")
  message(FATAL_ERROR "TILEPOST_STATIC_LLVM is ON and '${llvm_config}', which names LLVM's archives, is not there; "
                      "install the package that has it (Debian and Ubuntu: llvm-${LLVM_VERSION_MAJOR})")
endif()
execute_process(COMMAND ${llvm_config} --link-static --libfiles ${llvm_components}
                OUTPUT_VARIABLE llvm_archives OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE said
                RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "TILEPOST_STATIC_LLVM is ON and '${llvm_config}' finds no archives of LLVM; install the package "
                      "that has them (Debian and Ubuntu: llvm-${LLVM_VERSION_MAJOR}-dev). It says: ${said}")
endif()
separate_arguments(llvm_archives)
tilepost_need_archives(llvm-${LLVM_VERSION_MAJOR}-dev ${llvm_archives})

find_package(Threads REQUIRED)
find_library(TILEPOST_ZLIB_ARCHIVE libz.a)
find_library(TILEPOST_ZSTD_ARCHIVE libzstd.a)
foreach(library ZLIB=libz.a=zlib1g-dev ZSTD=libzstd.a=libzstd-dev)
  string(REPLACE "=" ";" library ${library})
  list(GET library 0 name)
  list(GET library 1 file)
  list(GET library 2 package)
  if(NOT TILEPOST_${name}_ARCHIVE)
    set(TILEPOST_${name}_ARCHIVE ${file})
  endif()
  tilepost_need_archives(${package} ${TILEPOST_${name}_ARCHIVE})
endforeach()

# One group: Clang's and LLVM's archives refer to each other. Unused members stay out.
list(JOIN clang_archives "," clang_archives)
list(JOIN llvm_archives "," llvm_archives)
target_link_libraries(tilepost_llvm INTERFACE
  "$<LINK_GROUP:RESCAN,${clang_archives},${llvm_archives}>"
  ${TILEPOST_ZLIB_ARCHIVE} ${TILEPOST_ZSTD_ARCHIVE} Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_libraries(tilepost_clang INTERFACE tilepost_llvm)
target_link_options(tilepost_llvm INTERFACE -static-libstdc++ -static-libgcc
  -Wl,--as-needed -Wl,--gc-sections $<$<CONFIG:Release>:-s>)

# Who passes the program on passes on what it contains, and so the licenses of that.
if(TILEPOST_INSTALL)
  foreach(package libclang-${LLVM_VERSION_MAJOR}-dev libfmt-dev libzstd-dev zlib1g-dev)
    set(license /usr/share/doc/${package}/copyright)
    if(EXISTS ${license})
      install(FILES ${license} DESTINATION "${CMAKE_INSTALL_DOCDIR}/contained" RENAME ${package}.txt COMPONENT package)
    else()
      message(STATUS "tilepost: no license of ${package} in '${license}': add it before you pass the program on")
    endif()
  endforeach()
endif()
