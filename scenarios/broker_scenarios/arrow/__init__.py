"""Arrow tables and Parquet files of loads, histories and check results: the form that Spark and files need."""
