package config

// LoadConfigFile reads the settings and fills in what is missing.
func LoadConfigFile(path string) (*Settings, error) {
	return readYaml(path)
}
