"""Reads a recording with h5py, pandas and VTK alone, and compares what each of them sees. Usage: check_recording.py FOLDER"""

import glob
import sys

import h5py
import numpy as np
import pandas
import vtk
from vtk.util.numpy_support import vtk_to_numpy

folder = sys.argv[1]
frames, steps = [], []
for name in sorted(glob.glob(folder + "/run.*.h5")):
    with h5py.File(name) as f:
        steps.append(pandas.DataFrame({k: f["steps"][k][:] for k in f["steps"]}))
        start = 0
        for count in f["frames/bodies"][:]:
            rows = slice(start, start + count)
            frames.append((f["bodies/position"][rows], f["bodies/id"][rows], f["bodies/velocity"][rows]))
            start += count
steps = pandas.concat(steps)
assert list(steps["step"]) == list(range(1, len(steps) + 1)), "every step once"
assert np.isfinite(steps["kinetic_j"]).all()

index = sorted(glob.glob(folder + "/run-*.vtkhdf"))[-1]
reader = vtk.vtkHDFReader()
reader.SetFileName(index)
reader.UpdateInformation()
times = reader.GetOutputInformation(0).Get(vtk.vtkStreamingDemandDrivenPipeline.TIME_STEPS())
assert len(times) == len(frames), (len(times), len(frames))
for time, (position, ids, velocity) in zip(times, frames):
    reader.UpdateTimeStep(time)
    out = reader.GetOutput()
    assert out.GetNumberOfPoints() == len(ids) == out.GetNumberOfVerts(), time
    if len(ids):
        data = out.GetPointData()
        assert np.array_equal(vtk_to_numpy(out.GetPoints().GetData()), position), time
        assert np.array_equal(vtk_to_numpy(data.GetArray("BodyId")), ids), time
        assert np.array_equal(vtk_to_numpy(data.GetArray("Velocity")), velocity), time
counts = {len(ids) for _, ids, _ in frames}
print(f"{len(frames)} frames of {min(counts)} to {max(counts)} bodies, {len(steps)} steps, VTK {vtk.vtkVersion().GetVTKVersion()}")
