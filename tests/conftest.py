"""What every test may use: the plugin of the workshop."""

pytest_plugins = ["workbench.testing.plugin", "pytester"]
