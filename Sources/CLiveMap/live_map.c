// SPDX-License-Identifier: Apache-2.0
#include "live_map.h"

// Clang has #embed in every version of C, with a warning before C23.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t canvas_js[] = {
#embed "../FleetEngineEmulator/LiveMap/canvas.js"
};
static const uint8_t clusters_js[] = {
#embed "../FleetEngineEmulator/LiveMap/clusters.js"
};
static const uint8_t controls_js[] = {
#embed "../FleetEngineEmulator/LiveMap/controls.js"
};
static const uint8_t faults_js[] = {
#embed "../FleetEngineEmulator/LiveMap/faults.js"
};
static const uint8_t format_js[] = {
#embed "../FleetEngineEmulator/LiveMap/format.js"
};
static const uint8_t live_js[] = {
#embed "../FleetEngineEmulator/LiveMap/live.js"
};
static const uint8_t map_css[] = {
#embed "../FleetEngineEmulator/LiveMap/map.css"
};
static const uint8_t map_html[] = {
#embed "../FleetEngineEmulator/LiveMap/map.html"
};
static const uint8_t map_js[] = {
#embed "../FleetEngineEmulator/LiveMap/map.js"
};
static const uint8_t markers_js[] = {
#embed "../FleetEngineEmulator/LiveMap/markers.js"
};
static const uint8_t model_js[] = {
#embed "../FleetEngineEmulator/LiveMap/model.js"
};
static const uint8_t panel_js[] = {
#embed "../FleetEngineEmulator/LiveMap/panel.js"
};
static const uint8_t route_js[] = {
#embed "../FleetEngineEmulator/LiveMap/route.js"
};
static const uint8_t story_js[] = {
#embed "../FleetEngineEmulator/LiveMap/story.js"
};
static const uint8_t tracks_js[] = {
#embed "../FleetEngineEmulator/LiveMap/tracks.js"
};

static const struct live_map_file files[] = {
  {"canvas.js", canvas_js, sizeof canvas_js},
  {"clusters.js", clusters_js, sizeof clusters_js},
  {"controls.js", controls_js, sizeof controls_js},
  {"faults.js", faults_js, sizeof faults_js},
  {"format.js", format_js, sizeof format_js},
  {"live.js", live_js, sizeof live_js},
  {"map.css", map_css, sizeof map_css},
  {"map.html", map_html, sizeof map_html},
  {"map.js", map_js, sizeof map_js},
  {"markers.js", markers_js, sizeof markers_js},
  {"model.js", model_js, sizeof model_js},
  {"panel.js", panel_js, sizeof panel_js},
  {"route.js", route_js, sizeof route_js},
  {"story.js", story_js, sizeof story_js},
  {"tracks.js", tracks_js, sizeof tracks_js},
  {NULL, NULL, 0},
};

const struct live_map_file *live_map_files(void) { return files; }
