// Stands in for vLLM's header of this name, of which the kernel needs nothing.
#pragma once
