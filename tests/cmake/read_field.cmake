# Architectures and names as CMake reads them from specs. Usage: cmake -D SOURCE=… -P read_field.cmake
include("${SOURCE}/cmake/TilepostHelpers.cmake")

function(expect key wanted text)
  set(spec "${CMAKE_CURRENT_BINARY_DIR}/read_field.yaml")
  file(WRITE "${spec}" "${text}")
  _tilepost_read_field(value "${spec}" ${key})
  file(REMOVE "${spec}")
  if(NOT value STREQUAL wanted)
    message(FATAL_ERROR "${key} is '${value}', not '${wanted}', in\n${text}")
  endif()
endfunction()

expect(arch "sm_80,sm_90a" "name: x\narch: [sm_80, sm_90a]\nranks: 2\n")
expect(arch "sm_80,sm_90a" "arch: [sm_80,  # one\n  # two ]\n       sm_90a]\nranks: 2\n")
expect(arch "sm_80,sm_90a" "name: x\r\narch: [\r\n sm_80,\r\n 'sm_90a'\r\n]\r\nranks: 2\r\n")
expect(arch "host" "# arch: sm_80\n\"arch\": host   # arch: sm_86\n")
expect(arch "" "gemm:\n  arch: host\n")
expect(name "small" "tilepost: 1\nname: small   # and one beside a field\n")
