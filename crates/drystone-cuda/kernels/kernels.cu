/* The order in which the parts are read. */
#include "shim.h"
#include "data.h"
#include "sums.h"
#include "sets.h"
#include "blocks.h"
#include "start.h"
#include "iterate.h"
#include "grains.h"
#include "scan.h"
#include "cells.h"
#include "near.h"
#include "colours.h"
#define REAL float
#define ROOT sqrtf
#define ROUNDING 5.9604644775390625e-8
#define N(name) name##_f
#define RESIDENT 4
#include "grain_step.h"
#include "grain_sweep.h"
#undef REAL
#undef ROOT
#undef ROUNDING
#undef N
#undef RESIDENT
#define REAL double
#define ROOT sqrt
#define ROUNDING 1.1102230246251565e-16
#define N(name) name##_d
#define RESIDENT 2
#include "grain_step.h"
#include "grain_end.h"
#include "patch.h"
#include "box_box.h"
#include "capsule.h"
#include "solids.h"
#include "solid_points.h"
#include "solid_near.h"
#include "solid_step.h"
#include "solid_sweep.h"
#include "solid_end.h"
