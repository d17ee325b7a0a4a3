"""Arrow tables and Parquet files of loads, histories and check results: the form that Spark and files need."""

import pyarrow as pa  # noqa: F401 - without the extra, the error names this package and not numpy, which comes along
