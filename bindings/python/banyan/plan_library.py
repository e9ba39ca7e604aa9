# SPDX-License-Identifier: Apache-2.0
"""`banyan/plan.h` in the words of ctypes."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint
from ctypes import c_void_p

from .errors import error_of
from .library import check, declare, lib, milliseconds, version_code

ProgressFunction = CFUNCTYPE(None, c_void_p, c_int, c_int)
_MessagesFunction = CFUNCTYPE(None, c_void_p, c_size_t, c_size_t)


class PlanError(Structure):
    """banyan_error."""

    _fields_ = [("text", c_char * 512)]


class _Config(Structure):
    """How every config begins."""

    _fields_ = [("size", c_size_t), ("magic", c_uint), ("version", c_uint)]

    @classmethod
    def begin(cls):
        return cls(ctypes.sizeof(cls), cls.MAGIC, version_code)


class BoundsConfig(_Config):
    MAGIC = 0xBA27A202
    _fields_ = [
        ("active", c_char_p),
        ("relays", c_char_p),
        ("effort", c_char_p),
        ("stages", c_char_p),
        ("bytes", c_size_t),
        ("collective", c_char_p),
    ]


class PlanConfig(_Config):
    MAGIC = 0xBA27A203
    _fields_ = [
        ("active", c_char_p),
        ("collective", c_char_p),
        ("root", c_int),
        ("bytes", c_size_t),
        ("algorithm", c_char_p),
        ("effort", c_char_p),
        ("parameters", POINTER(c_char_p)),
        ("wisdom", c_char_p),
        ("executor", c_char_p),
        ("timeout_ms", c_int),
        ("progress", ProgressFunction),
        ("context", c_void_p),
        ("begins", c_void_p),
    ]


class PredictConfig(_Config):
    MAGIC = 0xBA27A204
    _fields_ = [
        ("model", c_char_p),
        ("slice_bytes", c_size_t),
        ("service", c_char_p),
        ("is_lockstep", c_int),
        ("overhead_s", c_double),
        ("reduce_bytes_per_s", c_double),
        ("flow", c_char_p),
        ("flit", c_char_p),
        ("progress", _MessagesFunction),
        ("context", c_void_p),
    ]


class ExportConfig(_Config):
    MAGIC = 0xBA27A205
    _fields_ = [
        ("bytes", c_size_t),
        ("max_steps", c_int),
        ("max_rows", c_size_t),
        ("prediction", c_void_p),
        ("flow", c_char_p),
        ("flit", c_char_p),
        ("slice_bytes", c_size_t),
    ]


class TopologyInfo(Structure):
    FUNCTION = "banyan_topology_get_info"
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("node_count", c_int),
        ("worker_count", c_int),
        ("host_count", c_int),
        ("link_count", c_int),
        ("slowest_bytes_per_s", c_double),
        ("fastest_bytes_per_s", c_double),
        ("digest", c_char * 24),
    ]


class TopologyArrays(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("node_is_switch", POINTER(c_int)),
        ("node_host", POINTER(c_int)),
        ("link_src", POINTER(c_int)),
        ("link_dst", POINTER(c_int)),
        ("link_bytes_per_s", POINTER(c_double)),
        ("link_latency_s", POINTER(c_double)),
    ]


class BoundsInfo(Structure):
    FUNCTION = "banyan_bounds_get_info"
    _fields_ = [
        ("size", c_size_t),
        ("active_count", c_int),
        ("allreduce_bytes_per_s", c_double),
        ("allgather_bytes_per_s", c_double),
        ("reducescatter_bytes_per_s", c_double),
        ("allreduce_is_tight", c_int),
        ("allgather_is_tight", c_int),
        ("reducescatter_is_tight", c_int),
        ("stages_bytes_per_s", c_double),
        ("is_proven", c_int),
        ("reached_share", c_double),
        ("explanation", c_char_p),
        ("json", c_char_p),
        ("bytes", c_size_t),
    ]


class ScheduleInfo(Structure):
    FUNCTION = "banyan_schedule_get_info"
    _fields_ = [
        ("size", c_size_t),
        ("collective", c_char_p),
        ("algorithm", c_char_p),
        ("topology", c_char_p),
        ("node_count", c_int),
        ("active_count", c_int),
        ("root", c_int),
        ("transfer_count", c_size_t),
        ("round_count", c_int),
        ("flow_count", c_int),
        ("piece_count", c_int),
        ("route_count", c_int),
        ("route_link_count", c_int),
        ("digest", c_char * 24),
    ]


class ScheduleArrays(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("round", POINTER(c_int)),
        ("src", POINTER(c_int)),
        ("dst", POINTER(c_int)),
        ("first_piece", POINTER(c_int)),
        ("piece_count", POINTER(c_int)),
        ("is_copy", POINTER(c_int)),
        ("flow", POINTER(c_int)),
        ("route", POINTER(c_int)),
        ("cut", POINTER(c_int64)),
        ("owner", POINTER(c_int)),
        ("active", POINTER(c_int)),
        ("route_first", POINTER(c_int)),
        ("route_link", POINTER(c_int)),
    ]


class PlanInfo(Structure):
    FUNCTION = "banyan_plan_get_info"
    _fields_ = [
        ("size", c_size_t),
        ("algorithm", c_char_p),
        ("variant_key", c_char_p),
        ("variant_value", c_char_p),
        ("explanation", c_char_p),
        ("bytes", c_size_t),
        ("predicted_s", c_double),
        ("network_s", c_double),
        ("model", c_char_p),
        ("bytes_per_s", c_double),
        ("bottleneck", c_int),
        ("depth", c_int),
        ("volume", c_double),
        ("planning_s", c_double),
        ("lp_solves", c_int64),
        ("tree_searches", c_int64),
        ("max_flows", c_int64),
        ("solver_visits", c_int64),
        ("why_not", c_char_p),
    ]


class ComparisonInfo(Structure):
    FUNCTION = "banyan_comparison_get_info"
    _fields_ = [
        ("size", c_size_t),
        ("plan_count", c_int),
        ("applicable_count", c_int),
        ("chosen", c_int),
    ]


class VerdictInfo(Structure):
    FUNCTION = "banyan_verdict_get_info"
    _fields_ = [
        ("size", c_size_t),
        ("problem_count", c_size_t),
        ("shown_count", c_size_t),
        ("is_same_bits", c_int),
        ("note", c_char_p),
    ]


class PredictionInfo(Structure):
    FUNCTION = "banyan_prediction_get_info"
    _fields_ = [
        ("size", c_size_t),
        ("model", c_char_p),
        ("total_s", c_double),
        ("transfer_count", c_size_t),
        ("message_count", c_size_t),
        ("utilization", c_double),
        ("bottleneck", c_int),
        ("bottleneck_share", c_double),
        ("bytes_per_s", c_double),
        ("closed_form_s", c_double),
        ("cycles", c_int64),
        ("applied_cycles", c_int64),
        ("clock_hz", c_double),
        ("flit_hops", c_int64),
        ("link_flits", c_int64),
        ("head_flits", c_int64),
        ("arbitrations", c_int64),
        ("table_entries", c_int64),
        ("table_bits", c_int64),
        ("normal_packets", c_int64),
        ("normal_worst_cycles", c_int64),
        ("normal_mean_cycles", c_double),
    ]


_OUT = POINTER(c_void_p)
_ERROR = POINTER(PlanError)
_DOUBLES = POINTER(c_double)

declare(
    {
        "banyan_free": (None, c_void_p),
        "banyan_topology_load": (c_int, c_char_p, _OUT, _ERROR),
        "banyan_topology_generate": (c_int, c_char_p, _OUT, _ERROR),
        "banyan_topology_import": (c_int, c_char_p, c_char_p, _OUT, _ERROR),
        "banyan_topology_discover": (c_int, _OUT, _ERROR),
        "banyan_topology_damage": (c_int, c_void_p, c_char_p, _OUT, _ERROR),
        "banyan_topology_destroy": (None, c_void_p),
        "banyan_topology_export": (c_int, c_void_p, c_char_p, _OUT, _ERROR),
        "banyan_topology_save": (c_int, c_void_p, c_char_p, _ERROR),
        "banyan_topology_check": (c_int, c_void_p, c_char_p, POINTER(c_int), _ERROR),
        "banyan_topology_get_info": (c_int, c_void_p, POINTER(TopologyInfo), _ERROR),
        "banyan_topology_get_arrays": (c_int, c_void_p, POINTER(TopologyArrays), _ERROR),
        "banyan_topology_node_name": (c_char_p, c_void_p, c_int),
        "banyan_bounds_create": (c_int, c_void_p, POINTER(BoundsConfig), _OUT, _ERROR),
        "banyan_bounds_destroy": (None, c_void_p),
        "banyan_bounds_get_info": (c_int, c_void_p, POINTER(BoundsInfo), _ERROR),
        "banyan_bounds_save": (c_int, c_void_p, c_char_p, _ERROR),
        "banyan_schedule_load": (c_int, c_char_p, _OUT, _ERROR),
        "banyan_schedule_load_on": (c_int, c_char_p, c_void_p, _OUT, _ERROR),
        "banyan_schedule_destroy": (None, c_void_p),
        "banyan_schedule_save": (c_int, c_void_p, c_char_p, _ERROR),
        "banyan_schedule_get_info": (c_int, c_void_p, POINTER(ScheduleInfo), _ERROR),
        "banyan_schedule_get_arrays": (c_int, c_void_p, POINTER(ScheduleArrays), _ERROR),
        "banyan_algorithm_name": (c_char_p, c_int),
        "banyan_plan_create": (c_int, c_void_p, POINTER(PlanConfig), _OUT, _ERROR),
        "banyan_plan_destroy": (None, c_void_p),
        "banyan_plan_schedule": (c_void_p, c_void_p),
        "banyan_plan_get_info": (c_int, c_void_p, POINTER(PlanInfo), _ERROR),
        "banyan_comparison_create": (c_int, c_void_p, POINTER(PlanConfig), _OUT, _ERROR),
        "banyan_comparison_destroy": (None, c_void_p),
        "banyan_comparison_get_info": (c_int, c_void_p, POINTER(ComparisonInfo), _ERROR),
        "banyan_comparison_plan": (c_void_p, c_void_p, c_int),
        "banyan_schedule_verify": (c_int, c_void_p, c_void_p, _OUT, _ERROR),
        "banyan_verify_text": (c_int, c_char_p, c_size_t, c_void_p, _OUT, _ERROR),
        "banyan_verdict_destroy": (None, c_void_p),
        "banyan_verdict_get_info": (c_int, c_void_p, POINTER(VerdictInfo), _ERROR),
        "banyan_verdict_problem": (c_char_p, c_void_p, c_size_t),
        "banyan_schedule_predict": (
            c_int, c_void_p, c_void_p, c_size_t, POINTER(PredictConfig), _OUT, _ERROR,
        ),  # fmt: skip
        "banyan_prediction_destroy": (None, c_void_p),
        "banyan_prediction_get_info": (c_int, c_void_p, POINTER(PredictionInfo), _ERROR),
        "banyan_prediction_get_times": (c_int, c_void_p, _DOUBLES, _DOUBLES, _ERROR),
        "banyan_schedule_export": (c_int, c_void_p, c_void_p, c_char_p, POINTER(ExportConfig), _OUT, _ERROR),
        "banyan_schedule_save_chakra": (c_int, c_void_p, c_size_t, c_char_p, _ERROR),
    }
)

__all__ = ["check", "error_of", "lib", "milliseconds"]
