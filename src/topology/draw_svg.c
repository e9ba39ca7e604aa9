#include "topology/draw.h"
banyan_status banyan_topology_draw_svg(const banyan_topology *topology, char **out, banyan_error *err){(void)topology;(void)out;(void)err;return 0;}
