// tilepost's version and the number that generated code and runtime must agree on.
#ifndef TILEPOST_VERSION_H
#define TILEPOST_VERSION_H

#define TILEPOST_VERSION_MAJOR 0
#define TILEPOST_VERSION_MINOR 1
#define TILEPOST_VERSION_PATCH 0
#define TILEPOST_VERSION_STRING "0.1.0"

// This number is raised whenever a structure in plan.h or a call in tilepost.h changes
// incompatibly. Generated code refuses to compile against another number.
#define TILEPOST_ABI_VERSION 15

#endif  // TILEPOST_VERSION_H
