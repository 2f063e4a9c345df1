// expect: error: empty.cu: there is no function 'gemm'
