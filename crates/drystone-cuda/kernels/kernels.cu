/* The order in which the parts are read. */
#include "shim.h"
#include "data.h"
#include "sums.h"
#include "sets.h"
#include "blocks.h"
#include "start.h"
#include "iterate.h"
