#include "CurlRuntime.h"
