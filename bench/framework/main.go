// Package main is the smallest function that kustomize's own framework allows: it annotates one target.
package main

import (
	"os"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/fn/framework/command"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func annotate(list *framework.ResourceList) error {
	for _, item := range list.Items {
		if item.GetKind() == "Kustomization" && item.GetName() == "infra" {
			return item.PipeE(yaml.SetAnnotation("krm-windows.dev/governed-by", "flux-system/office-hours"))
		}
	}
	return nil
}

func main() {
	processor := framework.ResourceListProcessorFunc(annotate)
	if err := command.Build(processor, command.StandaloneDisabled, false).Execute(); err != nil {
		os.Exit(1)
	}
}
