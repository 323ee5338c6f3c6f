// Gitea, as .ci/setup builds it: versions.toml pins the same version.
module krm-windows.dev/ci/gitea

go 1.26.2

require code.gitea.io/gitea v1.26.0

// A replacement counts in the main module only, so those of Gitea's go.mod are repeated.
replace (
	github.com/jaytaylor/html2text => github.com/Necoro/html2text v0.0.0-20250804200300-7bf1ce1c7347
	github.com/nektos/act => gitea.com/gitea/act v0.261.10
	github.com/urfave/cli/v3 => github.com/urfave/cli/v3 v3.4.1
	go.yaml.in/yaml/v4 => go.yaml.in/yaml/v4 v4.0.0-rc.3
	github.com/Azure/azure-sdk-for-go/sdk/azcore => github.com/Azure/azure-sdk-for-go/sdk/azcore v1.19.0
	github.com/Azure/azure-sdk-for-go/sdk/storage/azblob => github.com/Azure/azure-sdk-for-go/sdk/storage/azblob v1.6.2
	github.com/microsoft/go-mssqldb => github.com/microsoft/go-mssqldb v1.9.7
)
