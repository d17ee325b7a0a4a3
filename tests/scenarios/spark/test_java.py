import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.java import find_java_home


def java(folder, name, version):
    home = folder / name
    (home / "bin").mkdir(parents=True)
    binary = home / "bin" / "java"
    binary.write_text("")
    binary.chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


def test_java_home_goes_first(tmp_path):
    home = java(tmp_path, "mine", "21.0.2")
    other = java(tmp_path, "other", "17.0.1")
    assert find_java_home({"JAVA_HOME": str(home), "PATH": str(other / "bin")}, tmp_path) == home


def test_a_java_too_old_is_passed_over(tmp_path):
    old = java(tmp_path, "old", "1.8.0_392")
    home = java(tmp_path, "other", "17.0.1")
    assert find_java_home({"JAVA_HOME": str(old), "PATH": str(home / "bin")}, tmp_path) == home


def test_the_usual_folders_come_last(tmp_path):
    home = java(tmp_path, "java-17-openjdk-amd64", "17.0.15")
    assert find_java_home({"PATH": ""}, tmp_path) == home


def test_without_java_one_line_names_the_remedy(tmp_path):
    old = java(tmp_path, "old", "11.0.2")
    with pytest.raises(ScenarioError) as refused:
        find_java_home({"JAVA_HOME": str(old), "PATH": ""}, tmp_path)
    assert str(refused.value) == (
        f"Spark needs Java 17 or later; looked at JAVA_HOME={old} (Java 11): "
        "install openjdk-17-jre-headless, or set JAVA_HOME"
    )
