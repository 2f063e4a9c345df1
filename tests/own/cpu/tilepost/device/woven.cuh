#pragma once

#include "tests/unit/cpu_shim/cpu_woven.h"
