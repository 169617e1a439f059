"""Makes the tables of `deploy/bench --padded`, in Markdown, from what bench_padded.py says. Needs only the standard
library."""

import bench_tables as tables

PEERS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


def millions(rate):
    """Returns 10^6 voxels/s with three digits."""
    return f"{rate / 1e6:.3g}"


def ran(results):
    """Returns the results of plans that ran."""
    return [one for one in results if "ours" in one and "refusal" not in one["ours"]]


def beside(result):
    """Returns a result's peers, with their names."""
    return {peer: result[peer] for peer in PEERS if peer in result}


def peer_cells(result, peer):
    """Returns [rate, ratio, ratio of processor time, floor] of a peer, as text."""
    floor = result["floors"].get(peer)
    least = f"{floor:g}" if floor else ""
    found = result.get(peer, {"refusal": ""})
    if "refusal" in found:
        return ["not run: " + found["refusal"] if found["refusal"] else "", "", "", least]
    ratio, processor = result["ratios"][peer], result["processor_ratios"][peer]
    return [millions(found["voxels_per_second"]), f"{ratio:.2f}", f"{processor:.2f}", least]


def name_of(peer, results):
    """Returns "OpenVINO 2026.4"."""
    versions = {one[peer]["version"].split("-")[0] for one in results if "version" in one.get(peer, {})}
    return " ".join([PEERS[peer], *sorted(versions)])


def peer_rows(results):
    """Returns a row for each net that ran beside other programs."""
    head = ["net", "patch", "kFLOP a voxel", "ours", "measured / predicted time"]
    for peer in PEERS:
        head += [name_of(peer, results), "ratio", "of processor time", "floor"]
    rows = [[*head, "runs", "load"]]
    for one in results:
        ours = one["ours"]
        rows.append(
            [
                one["net"],
                tables.extent(one["volume"]),
                f"{one['flops_per_voxel'] / 1e3:.0f}",
                millions(ours["voxels_per_second"]),
                f"{ours['seconds'] / ours['predicted_seconds']:.2f}",
                *(cell for peer in PEERS for cell in peer_cells(one, peer)),
                str(len(ours["runs"])),
                tables.span(one["load"], 1, 1),
            ]
        )
    return rows


def memory_rows(results):
    """Returns a row for each net that ran over a large volume."""
    rows = [["net", "volume", "GiB at most", "reserved", "held by the process", "patch or step", "ours", "predicted"]]
    for one in results:
        ours = one["ours"]
        rows.append(
            [
                one["net"],
                tables.extent(one["volume"]),
                f"{one['mem'] / 2**30:g}",
                f"{ours['reserved_bytes'] / 2**30:.2f}",
                f"{ours['peak_bytes'] / 2**30:.2f}",
                tables.extent(ours["patch"]),
                millions(ours["voxels_per_second"]),
                millions(ours["voxels_per_second"] * ours["seconds"] / ours["predicted_seconds"]),
            ]
        )
    return rows


def planning_rows(results):
    """Returns a row for each net that was planned."""
    rows = [["net", "volume", "GiB at most", "seconds", "processor seconds"]]
    for one in results:
        took = one["planning"]
        failed = "refusal" in took
        rows.append(
            [
                one["net"],
                tables.extent(one["volume"]),
                f"{one['mem'] / 2**30:g}",
                "no plan: " + took["refusal"] if failed else f"{took['seconds']:.1f}",
                "" if failed else f"{took['processor_seconds']:.1f}",
            ]
        )
    return rows


def sections(results):
    """Returns the sections of all results, or nothing if there are none."""
    parts = []
    side_by_side = [one for one in ran(results) if beside(one)]
    if side_by_side:
        parts += [
            "## Nets that pad\n",
            tables.table(peer_rows(side_by_side)),
            "Medians of runs in turn on one patch, in 10^6 output voxels a second; ratio: of ours. What is lost at "
            "borders of patches counts nowhere.\n",
        ]
    alone = [one for one in ran(results) if not beside(one)]
    if alone:
        parts += ["## Large volumes\n", tables.table(memory_rows(alone)), "In 10^6 output voxels a second.\n"]
    if results:
        parts += ["## Planning\n", tables.table(planning_rows(results))]
    return parts
