# Links LLVM and Clang as archives, so that the tool is one file that runs on any Linux of this glibc or
# newer. Debian's imported targets of Clang pull in the shared libLLVM, so the archives are named here.
set(clang_archives Tooling Frontend Serialization Driver Parse Sema Analysis APINotes Edit AST ASTMatchers
    Lex Basic Support ToolingCore Rewrite Format ToolingInclusions)
list(TRANSFORM clang_archives REPLACE "(.+)" "${LLVM_LIBRARY_DIR}/libclang\\1.a")
set(llvm_components support option frontendopenmp frontendoffloading frontendhlsl mc mcparser bitreader
    binaryformat targetparser windowsdriver profiledata)
execute_process(COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-config --link-static --libfiles ${llvm_components}
                OUTPUT_VARIABLE llvm_archives OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(llvm_archives)

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_library(TILEPOST_ZSTD_ARCHIVE libzstd.a REQUIRED)
# One group: Clang's and LLVM's archives refer to each other. Unused members stay out.
list(JOIN clang_archives "," clang_archives)
list(JOIN llvm_archives "," llvm_archives)
target_link_libraries(tilepost_llvm INTERFACE
  "$<LINK_GROUP:RESCAN,${clang_archives},${llvm_archives}>"
  ZLIB::ZLIB ${TILEPOST_ZSTD_ARCHIVE} Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_libraries(tilepost_clang INTERFACE tilepost_llvm)
target_link_options(tilepost_llvm INTERFACE -static-libstdc++ -static-libgcc
  -Wl,--as-needed -Wl,--gc-sections $<$<CONFIG:Release>:-s>)
