"""Compares a Parquet file with the CSV file of the same table. Usage: check_parquet.py TABLE.parquet TABLE.csv"""

import sys

import pandas
import pyarrow.parquet

table = pyarrow.parquet.read_table(sys.argv[1]).to_pandas()
text = pandas.read_csv(sys.argv[2])
assert list(table.columns) == list(text.columns), (table.columns, text.columns)
assert len(table) == len(text) > 0
assert table["step"].dtype == "int64" and table["time_s"].dtype == "float64"
for name in table.columns:
    if name.startswith("name"):
        assert list(table[name]) == list(text[name]), name
    else:
        same = (table[name] == text[name]) | (table[name].isna() & text[name].isna())
        assert same.all(), (name, table[name][~same], text[name][~same])
print(f"{len(table)} rows of {len(table.columns)} columns are the same")
